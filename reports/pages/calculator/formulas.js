// The library's formulas in the page: what a speedup is made of, one function here for one there (named behind it).
// Times are seconds, but for the tables' microseconds; a `scene` holds the values of all controls by name.
"use strict";
const calculator = (() => {
  const MICRO = 1e-6, LEVEL = 1.959963984540054;
  let tables;

  const load = (given) => { tables = given; };
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const range = (low, high) => Array.from({ length: high - low + 1 }, (_, k) => low + k);
  const best = (rows) => rows.reduce((one, other) => (other.speedup > one.speedup ? other : one));

  // ---- one pass: specsim.roofline.Roofline.pass_seconds
  const between = (xs, ys, x) => {
    let low = 0, high = ys.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= x) low = middle; else high = middle;
    }
    return ys[low] + (ys[high] - ys[low]) * (x - xs[low]) / (xs[high] - xs[low]);
  };
  const padded = (sizes, count) => sizes.find((size) => size >= count) ?? count;
  const passSeconds = (machine, shape, tokens, batch, context) => {
    const { in_flight, cache } = machine.shapes[shape];
    const [unit, pattern] = cache[tokens];
    const attention = machine.patterns[pattern][tables.contexts.indexOf(context)];
    const paid = padded(machine.graph_sizes, tokens * batch);
    return MICRO * (between(tables.in_flight, in_flight, paid) + unit * between(tables.batches, attention, batch));
  };

  // ---- a round: specsim.drafters.PlacedDrafter, RatioDrafter; specsim.rates.rates
  const place = (scene) => {
    const machine = tables.machines[scene.model]?.[scene.hardware];
    const counts = tables.drafters[scene.model]?.[scene.drafter];
    return machine && counts ? { machine, drafter: { ...counts, ...machine.drafters[scene.drafter] } } : null;
  };
  const parts = ({ machine, drafter }, { c, batch, context }, gamma) => {
    const pass = (shape, tokens) => passSeconds(machine, shape, Math.max(tokens, 1), batch, context);
    const plain = pass(0, 1), passes = drafter.passes[gamma];
    let draft = gamma > 0 ? drafter.host_seconds * batch : 0, fixed = 0;
    if (drafter.is_ratio) { draft += c * gamma * plain; fixed += c * gamma * machine.shapes[0].fixed_seconds; }
    if (drafter.shape !== null && passes > 0) {
      draft += pass(drafter.shape, drafter.first_tokens[gamma]);
      if (passes > 1) draft += (passes - 1) * pass(drafter.shape, drafter.pass_tokens[gamma]);
      fixed += passes * machine.shapes[drafter.shape].fixed_seconds;
    }
    if (drafter.serial !== null && gamma > 0) {
      draft += gamma * pass(drafter.serial, 1);
      fixed += gamma * machine.shapes[drafter.serial].fixed_seconds;
    }
    const share = drafter.verify_share;
    const verify = share * pass(0, drafter.target_tokens[gamma]) + (1 - share) * plain;
    return { plain, draft, verify, draftFixed: fixed, verifyFixed: machine.shapes[0].fixed_seconds };
  };

  // ---- acceptance: specsim.acceptance.DecayAcceptance, TreeAcceptance; specsim.catalog.published.rank_vector
  const chainSurvival = (alpha, decay, gamma) => {
    let standing = 1;
    return range(0, gamma - 1).map((k) => (standing *= alpha * decay ** k));
  };
  const treeSurvival = (alpha, nodes, depth) => {
    const { count, decay } = tables.ranks;
    const ranks = range(0, count - 1).map((rank) => alpha * Math.min(decay, 1 - alpha) ** rank);
    let level = [1];
    const all = [];
    for (let k = 0; k < depth; k += 1) {
      level = level.flatMap((worth) => ranks.map((rank) => worth * rank)).sort((a, b) => b - a).slice(0, nodes);
      level.forEach((worth) => all.push({ worth, k }));
    }
    const survival = new Array(depth).fill(0);
    all.sort((a, b) => b.worth - a.worth).slice(0, nodes).forEach(({ worth, k }) => { survival[k] += worth; });
    return survival;
  };
  const known = new Map();
  const remembered = (key, compute) => {
    if (known.size > 5000) known.clear();
    if (!known.has(key)) known.set(key, compute());
    return known.get(key);
  };
  const tokens = (nodes, { alpha, decay }, gamma) => remembered(`tokens ${nodes} ${alpha} ${decay} ${gamma}`, () =>
    1 + sum(nodes ? treeSurvival(alpha, nodes, gamma) : chainSurvival(alpha, decay, gamma)));

  // ---- how sure: specsim.capacity.speedup_interval, its errors added up as variances of the logarithm
  const withError = (alpha, error, away) => {
    const inside = Math.min(Math.max(alpha, 1e-3), 1 - 1e-3);
    const logit = Math.log(inside / (1 - inside)) + away * LEVEL * error / (inside * (1 - inside));
    return 1 / (1 + Math.exp(-logit));
  };
  const interval = ({ machine, drafter }, scene, row, { plain, draft, verify, draftFixed, verifyFixed }) => {
    const round = draft + verify, plainFixed = machine.shapes[0].fixed_seconds;
    const verifying = (verify - verifyFixed) / round, drafting = (draft - draftFixed) / round;
    const common = (plain - plainFixed) / plain - verifying - drafting;
    const paid = plainFixed / plain - (verifyFixed + draftFixed) / round;
    const kernels = machine.kernel_error * Math.hypot(common, verifying, drafting);
    const passes = LEVEL * Math.hypot(kernels, machine.overhead_error * paid);
    const accepted = (away) => scene.error
      ? Math.log(tokens(drafter.nodes, { ...scene, alpha: withError(scene.alpha, scene.error, away) }, row.gamma) / row.tokens)
      : 0;
    return { low: row.speedup * Math.exp(-Math.hypot(passes, accepted(-1))), high: row.speedup * Math.exp(Math.hypot(passes, accepted(1))) };
  };

  // ---- speedup: specsim.rates.Rates.speedup, specsim.speedup.best_gamma and crossover_batch
  const at = (here, scene, gamma) => {
    const seconds = parts(here, scene, gamma), { plain, draft, verify } = seconds;
    const row = { gamma, batch: scene.batch, tokens: tokens(here.drafter.nodes, scene, gamma), plain, draft, verify };
    row.speedup = row.tokens * plain / (draft + verify);
    return { ...row, ...(gamma > 0 ? interval(here, scene, row, seconds) : { low: 1, high: 1 }) };
  };
  const deepest = (here) => here.drafter.passes.length - 1;
  const chosenGamma = (here, scene) => Math.min(scene.gamma, deepest(here));
  const bestGamma = (here, scene) => best(range(0, deepest(here)).map((gamma) => at(here, scene, gamma)));
  const speedupAt = (here, scene, batch) => {
    const gamma = chosenGamma(here, scene), { plain, draft, verify } = parts(here, { ...scene, batch }, gamma);
    return tokens(here.drafter.nodes, scene, gamma) * plain / (draft + verify);
  };
  const crossoverBatch = (here, scene) => {
    let batch = tables.batches.at(-1);
    while (batch > 0 && speedupAt(here, scene, batch) < 1) batch -= 1;
    return batch;
  };

  // ---- memory: specsim.memory.Memory.max_batch
  const room = ({ machine, drafter }, scene, gamma) => {
    const cached = scene.context + drafter.target_tokens[gamma];
    const contexts = [...tables.contexts, 2 * tables.contexts.at(-1)];
    const sequence = between(contexts, machine.sequence_bytes, cached) + drafter.token_bytes * cached;
    return Math.max(0, Math.floor(drafter.free_bytes / sequence));
  };

  // ---- what the pictures and the lines above them show
  const usual = (alpha, c, gamma) => sum(range(0, gamma).map((k) => alpha ** k)) / (1 + gamma * c);
  const ratio = (here, scene) => {
    const gamma = Math.max(1, chosenGamma(here, scene)), { plain, draft } = parts(here, scene, gamma);
    return draft / (gamma * plain);
  };
  const byGamma = (scene) => drawn(scene, "gamma", (here) => {
    const c = ratio(here, scene), top = bestGamma(here, scene).gamma;
    return range(0, deepest(here)).map((gamma) => ({
      ...at(here, scene, gamma), usual: usual(scene.alpha, c, gamma), is_chosen: gamma === chosenGamma(here, scene), is_best: gamma === top,
    }));
  });
  const byBatch = (scene) => drawn(scene, "batch", (here) => {
    const most = room(here, scene, chosenGamma(here, scene));
    return range(0, 40).map((k) => Math.round(2 ** (k / 4))).filter((batch, k, all) => batch !== all[k - 1]).map((batch) => {
      const there = { ...scene, batch }, top = bestGamma(here, there);
      return { ...at(here, there, chosenGamma(here, scene)), best_gamma: top.gamma, best_speedup: top.speedup, fits: batch <= most };
    });
  });
  const byPart = (scene) => drawn(scene, "part", (here) => range(0, deepest(here)).flatMap((gamma) => {
    const { tokens: count, draft, verify } = at(here, scene, gamma), is_chosen = gamma === chosenGamma(here, scene);
    return [
      { gamma, is_chosen, part: "target's pass", order: 0, seconds: verify / count },
      { gamma, is_chosen, part: "drafting", order: 1, seconds: draft / count },
    ];
  }));
  const byDrafter = (scene) => drawn(scene, "drafter", () => {
    const rows = Object.entries(tables.drafters[scene.model]).map(([drafter, counts]) => {
      const is_chosen = drafter === scene.drafter;
      const there = is_chosen ? scene : { ...scene, drafter, alpha: counts.alpha, error: counts.error, decay: 1 };
      if (counts.is_ratio && !is_chosen) return null;
      const here = place(there);
      return here && { ...bestGamma(here, there), drafter, name: counts.name, nodes: counts.nodes, alpha: there.alpha, is_chosen };
    }).filter((row) => row);
    const names = [...new Set(rows.map((row) => row.name))];
    return names.map((name) => {
      const mine = rows.filter((row) => row.name === name);
      return mine.find((row) => row.is_chosen) ?? best(mine);
    }).sort((a, b) => b.speedup - a.speedup);
  });
  const answer = (scene) => drawn(scene, "answer", (here) => {
    const gamma = chosenGamma(here, scene), row = at(here, scene, gamma), top = bestGamma(here, scene);
    const user = row.tokens / (row.draft + row.verify), device = user * scene.batch / here.machine.devices;
    return {
      ...row, best_gamma: top.gamma, best_speedup: top.speedup, c: ratio(here, scene),
      crossover_batch: crossoverBatch(here, scene), largest_batch: tables.batches.at(-1),
      room: room(here, scene, gamma), user_tokens_per_second: user, device_tokens_per_second: device,
      price_per_million: scene.price / (3600 * device) * 1e6, verify_ratio: row.verify / row.plain,
      place: here.machine.label, efficiency: here.machine.efficiency, source: here.drafter.source, published_alpha: here.drafter.alpha,
    };
  }, null);
  const PLAIN = { gamma: 0, tokens: 1, speedup: 1, low: 1, high: 1, usual: 1, best_gamma: 0, best_speedup: 1, is_chosen: true, is_best: true, part: "target's pass", order: 0, seconds: 0 };
  const drawn = (scene, what, compute, none = [{ ...PLAIN, batch: scene.batch }]) => {
    const here = place(scene);
    return here ? remembered(`${what} ${JSON.stringify(scene)}`, () => compute(here)) : none;
  };

  return { load, functions: { byGamma, byBatch, byPart, byDrafter, answer } };
})();
