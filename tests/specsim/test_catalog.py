"""Every accelerator has a source and dense figures, and the tests can tell when it has not."""

import json
from dataclasses import fields, replace

import pytest

from specsim import catalog
from specsim.catalog import Hardware
from specsim.errors import InputError

GPU = {
    "name": "part",
    "memory_bytes": 1e9,
    "bandwidth_bytes_per_second": 1e9,
    "flop_per_second": {"bfloat16": 1e12},
    "source": "here",
}
FIGURES = ("memory_bytes", "bandwidth_bytes_per_second", "link_bytes_per_second", "l2_bytes", "watts")


# An independent way to each dense peak: cores x what a core multiplies per clock x the clock. Every part here runs at
# 1.4 to 2.6 GHz, so a sparse figure, twice the dense one, would ask for at least 2.8. Cores and rates are the vendors'
# (whitepapers of Volta to Blackwell and of CDNA 2 to 4; pages of TPU v5e and v5p; Gaudi 3 white paper), in FLOP per
# clock and core for the dense 16-bit format with float32 accumulation.
CORES = {
    "V100-SXM2-32GB": (80, 1024),
    "T4": (40, 1024),
    "A10": (72, 1024),
    "RTX-3090": (82, 512),
    "A100-SXM-40GB": (108, 2048),
    "A100-SXM-80GB": (108, 2048),
    "A100-PCIe-80GB": (108, 2048),
    "L4": (58, 1024),
    "L40S": (142, 1024),
    "RTX-4090": (128, 512),
    "RTX-5090": (170, 512),
    "RTX-PRO-6000-Server": (188, 1024),
    "H100-PCIe": (114, 4096),
    "H100-SXM": (132, 4096),
    "H200-SXM": (132, 4096),
    "B200-SXM": (148, 8192),
    "GB200-NVL72": (148, 8192),
    "B300-SXM": (148, 8192),
    "GB300-NVL72": (148, 8192),
    "MI250X": (220, 1024),
    "MI300X": (304, 2048),
    "MI325X": (304, 2048),
    "MI355X": (256, 4096),
    "TPU-v5e": (4, 2 * 128 * 128),
    "TPU-v5p": (8, 2 * 128 * 128),
    "Gaudi-3": (8, 2 * 256 * 256),
}
UNCOUNTED = {"A10G", "TPU-v6e", "Arc-Pro-B60", "Apple-M2-Ultra", "Apple-M3-Ultra", "Apple-M4-Max"}
# The same for bandwidth: data pins x the rate of a pin, which the type of memory bounds within a factor of two.
PIN_RATES = {  # bit/s per pin, from the JEDEC grades in use
    "HBM2": (1.6e9, 2.5e9),
    "HBM2e": (3.0e9, 3.7e9),
    "HBM3": (5.0e9, 6.5e9),
    "HBM3e": (5.8e9, 9.3e9),
    "GDDR6": (10e9, 19.5e9),
    "GDDR6X": (19e9, 24e9),
    "GDDR7": (24e9, 32e9),
    "LPDDR5": (6.0e9, 9.6e9),
}
PINS = {
    "V100-SXM2-32GB": ("HBM2", 4096),
    "T4": ("GDDR6", 256),
    "A10": ("GDDR6", 384),
    "A10G": ("GDDR6", 384),
    "RTX-3090": ("GDDR6X", 384),
    "A100-SXM-40GB": ("HBM2", 5120),
    "A100-SXM-80GB": ("HBM2e", 5120),
    "A100-PCIe-80GB": ("HBM2e", 5120),
    "L4": ("GDDR6", 192),
    "L40S": ("GDDR6", 384),
    "RTX-4090": ("GDDR6X", 384),
    "RTX-5090": ("GDDR7", 512),
    "RTX-PRO-6000-Server": ("GDDR7", 512),
    "H100-PCIe": ("HBM2e", 5120),
    "H100-SXM": ("HBM3", 5120),
    "H200-SXM": ("HBM3e", 6144),
    "B200-SXM": ("HBM3e", 8192),
    "GB200-NVL72": ("HBM3e", 8192),
    "B300-SXM": ("HBM3e", 8192),
    "GB300-NVL72": ("HBM3e", 8192),
    "MI250X": ("HBM2e", 8192),
    "MI300X": ("HBM3", 8192),
    "MI325X": ("HBM3e", 8192),
    "MI355X": ("HBM3e", 8192),
    "TPU-v5e": ("HBM2e", 2048),
    "TPU-v5p": ("HBM2e", 6144),
    "TPU-v6e": ("HBM3", 2048),
    "Gaudi-3": ("HBM2e", 8192),
    "Arc-Pro-B60": ("GDDR6", 192),
    "Apple-M2-Ultra": ("LPDDR5", 1024),
    "Apple-M3-Ultra": ("LPDDR5", 1024),
    "Apple-M4-Max": ("LPDDR5", 512),
}
# And for the link: links x lanes x the signalling rate of ONE direction, before encoding [byte/s].
LINKS = {
    "V100-SXM2-32GB": 6 * 25e9,
    "T4": 16e9,
    "A100-SXM-40GB": 12 * 25e9,
    "A100-SXM-80GB": 12 * 25e9,
    "H100-SXM": 18 * 25e9,
    "H200-SXM": 18 * 25e9,
    "B200-SXM": 18 * 50e9,
    "GB200-NVL72": 18 * 50e9,
    "B300-SXM": 18 * 50e9,
    "GB300-NVL72": 18 * 50e9,
    "MI250X": 8 * 50e9,
    "MI300X": 7 * 64e9,
    "MI325X": 7 * 64e9,
    "MI355X": 7 * 76.8e9,
    "TPU-v5e": 4 * 50e9,
    "TPU-v5p": 6 * 100e9,
    "TPU-v6e": 4 * 100e9,
    "Gaudi-3": 21 * 25e9,
    "Arc-Pro-B60": 32e9,
    "Apple-M2-Ultra": 0,
    "Apple-M3-Ultra": 0,
    "Apple-M4-Max": 0,
}
PCIE_5 = {"RTX-5090", "RTX-PRO-6000-Server", "H100-PCIe"}
HALF_RATE_16_BIT = {"RTX-3090", "RTX-4090", "RTX-5090"}  # GeForce, accumulating in float32; int8 is not halved
FLOAT8_NOT_FASTER = {"Gaudi-3"}
NO_FAST_INT8 = {"V100-SXM2-32GB", "MI250X", "B300-SXM", "GB300-NVL72"}  # no tensor cores for it, or nearly removed
FLOAT4_BEYOND_TWICE = {"RTX-5090": 4, "B300-SXM": 14 / 4.5, "GB300-NVL72": 3}  # float8 halved on GeForce; Ultra's own


def sixteen_bit(gpu):
    return gpu.peak(gpu.best_dtype)


def faults(gpu):
    """What speaks against a row being dense, decimal, one-directional and sourced."""
    peaks, name = gpu.flop_per_second, gpu.name
    found = set()
    if "https://" not in gpu.source or not gpu.note or not gpu.generation or not gpu.vendor:
        found.add("source")
    if name in CORES:
        cores, per_clock = CORES[name]
        if not 1.4e9 <= sixteen_bit(gpu) / (cores * per_clock) <= 2.6e9:
            found.add("clock")
    memory, pins = PINS[name]
    slowest, fastest = PIN_RATES[memory]
    if not slowest <= 8 * gpu.bandwidth_bytes_per_second / pins <= fastest:
        found.add("pins")
    # 60 (Apple) to 600 (TPU v6e) FLOP per byte: catches a wrong unit, not a factor of two; that is what clocks are for.
    if not 60 <= sixteen_bit(gpu) / gpu.bandwidth_bytes_per_second <= 600:
        found.add("ridge")
    if peaks.get("bfloat16") and peaks.get("float16", peaks["bfloat16"]) != peaks["bfloat16"]:
        found.add("float16")
    if not peaks.get("float8", 0) <= (1.05 if name in FLOAT8_NOT_FASTER else 2.05) * sixteen_bit(gpu):
        found.add("float8")
    int8 = peaks.get("int8", 0) / sixteen_bit(gpu)
    most = 4.05 if name in HALF_RATE_16_BIT else 2.05
    least = 0 if name in NO_FAST_INT8 or "int8" not in peaks else 1.95
    if not least <= int8 <= most:
        found.add("int8")
    if "float4" in peaks and peaks["float4"] / peaks["float8"] != pytest.approx(
        FLOAT4_BEYOND_TWICE.get(name, 2), rel=0.01
    ):
        found.add("float4")
    # Vendors print whole GB; as GiB times 2**30 no size here is a whole number of 1e9 bytes.
    if gpu.memory_bytes % 1e9 or not 16e9 <= gpu.memory_bytes <= 512e9:
        found.add("memory")
    link = LINKS.get(name, 64e9 if name in PCIE_5 else 32e9)  # the others: PCIe 4.0 x16
    if not 0.88 * link <= gpu.link_bytes_per_second <= 1.001 * link:
        found.add("link")
    if (gpu.devices_per_node == 1) != (gpu.link_bytes_per_second == 0):
        found.add("node")
    return found


@pytest.mark.parametrize("name", catalog.hardware_names())
def test_every_gpu_is_sourced_dense_decimal_and_one_directional(name):
    assert faults(catalog.hardware(name)) == set()


def sparse(gpu):
    return {dtype: 2 * peak for dtype, peak in gpu.flop_per_second.items()}


@pytest.mark.parametrize("name", sorted(CORES))
def test_a_sparse_row_is_refused(name):
    gpu = catalog.hardware(name)
    assert "clock" in faults(replace(gpu, flop_per_second=sparse(gpu)))


@pytest.mark.parametrize("name", catalog.hardware_names())
def test_one_sparse_format_is_refused(name):
    gpu = catalog.hardware(name)
    for dtype, peak in gpu.flop_per_second.items():
        planted = replace(gpu, flop_per_second={**gpu.flop_per_second, dtype: 2 * peak})
        unruled = dtype == "int8" and name in NO_FAST_INT8  # or a lone figure that nothing else can contradict
        if not unruled and (dtype != gpu.best_dtype or len(gpu.flop_per_second) > 1 or name in CORES):
            assert faults(planted), dtype


@pytest.mark.parametrize("name", catalog.hardware_names())
def test_other_slips_are_refused(name):
    gpu = catalog.hardware(name)
    assert "pins" in faults(replace(gpu, bandwidth_bytes_per_second=2 * gpu.bandwidth_bytes_per_second))
    assert "pins" in faults(replace(gpu, bandwidth_bytes_per_second=gpu.bandwidth_bytes_per_second / 2))
    assert "memory" in faults(replace(gpu, memory_bytes=gpu.memory_bytes / 1e9 * 2**30))
    assert "source" in faults(replace(gpu, source="a forum"))
    if gpu.link_bytes_per_second:
        assert "link" in faults(replace(gpu, link_bytes_per_second=2 * gpu.link_bytes_per_second))
        assert "node" in faults(replace(gpu, devices_per_node=1))


def test_every_row_is_counted_once():
    names = catalog.hardware_names()
    assert set(PINS) == set(names)
    assert set(CORES) | UNCOUNTED == set(names)
    facts = [tuple(getattr(catalog.hardware(name), field) for field in FIGURES) for name in names]
    peaks = [tuple(catalog.hardware(name).flop_per_second.items()) for name in names]
    assert len(set(zip(facts, peaks, strict=True))) == len(names)


def test_confidence_is_low_where_compute_is_an_estimate():
    low = {name for name in catalog.hardware_names() if catalog.hardware(name).confidence == "low"}
    assert low == {name for name in catalog.hardware_names() if catalog.hardware(name).vendor == "Apple"}


def test_no_price_is_a_fact():
    assert {catalog.hardware(name).price_per_hour for name in catalog.hardware_names()} == {None}


def test_a_rack_is_one_node():
    assert catalog.hardware("GB200-NVL72").devices_per_node == 72
    assert catalog.hardware("H100-SXM").devices_per_node == 8
    assert catalog.hardware("Apple-M4-Max").devices_per_node == 1


def test_the_ridge_of_the_h100_is_the_published_one():
    gpu = catalog.hardware("H100-SXM")
    assert gpu.peak("bfloat16") / gpu.bandwidth_bytes_per_second == pytest.approx(295.2, abs=0.05)


@pytest.mark.parametrize(("name", "dtype"), [("V100-SXM2-32GB", "float16"), ("T4", "float16"), ("TPU-v5e", "bfloat16")])
def test_the_16_bit_format_that_a_part_has(name, dtype):
    gpu = catalog.hardware(name)
    assert gpu.best_dtype == dtype
    other = "bfloat16" if dtype == "float16" else "float16"
    with pytest.raises(InputError, match=f"{name} has no peak for dtype '{other}'; it has: .*{dtype}"):
        gpu.peak(other)


def test_h100_and_h200_differ_in_memory_only():
    h100, h200 = catalog.hardware("H100-SXM"), catalog.hardware("H200-SXM")
    assert h100.flop_per_second == h200.flop_per_second
    assert h200.bandwidth_bytes_per_second / h100.bandwidth_bytes_per_second == pytest.approx(4.8 / 3.35)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match=r"H100-SXM.*MI300X"):
        catalog.hardware("H100")
    with pytest.raises(InputError, match=r"bfloat16.*int8"):
        catalog.hardware("A100-SXM-80GB").peak("float4")


@pytest.mark.parametrize(
    "change",
    [
        {"memory_bytes": 0.0},
        {"bandwidth_bytes_per_second": float("nan")},
        {"flop_per_second": {}},
        {"flop_per_second": {"bfloat16": -1.0}},
        {"source": ""},
        {"watts": -1.0},
        {"l2_bytes": -1.0},
        {"price_per_hour": -1.0},
        {"price_per_hour": float("nan")},
        {"confidence": "certain"},
        {"flop_per_second": {"bf16": 1e12}},
        {"flop_per_second": {"float8": 1e12}},
        {"devices_per_node": 8},
        {"devices_per_node": 0},
        {"devices_per_node": 2.0, "link_bytes_per_second": 1e9},
    ],
)
def test_hardware_refuses_impossible_facts(change):
    Hardware(**GPU)
    with pytest.raises(InputError):
        Hardware(**GPU | change)


WHOLE = """
memory_bytes = 24e9
bandwidth_bytes_per_second = 0.5e12
[flop_per_second]
float16 = 50e12
"""


def file_of(folder, text, name="ours.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_may_describe_a_part_of_its_own(tmp_path):
    part = catalog.read_hardware(file_of(tmp_path, WHOLE))
    assert part == Hardware(
        name="ours",
        memory_bytes=24e9,
        bandwidth_bytes_per_second=0.5e12,
        flop_per_second={"float16": 50e12},
        source="file ours.toml",
    )


@pytest.mark.parametrize("name", catalog.hardware_names())
def test_a_catalogue_row_written_to_a_file_reads_back(name, tmp_path):
    row = catalog.hardware(name)
    lines = [f"{key} = {json.dumps(getattr(row, key))}" for key in (*FIGURES, "devices_per_node")]
    lines += [
        f"{key} = {json.dumps(getattr(row, key))}" for key in ("vendor", "generation", "note", "confidence", "source")
    ]
    lines += [f'["{name}".flop_per_second]', *(f"{dtype} = {peak}" for dtype, peak in row.flop_per_second.items())]
    path = file_of(tmp_path, f'["{name}"]\n' + "\n".join(lines))
    assert catalog.hardware_from(str(path)) == row


def test_a_base_gives_what_the_file_does_not_say(tmp_path):
    base = catalog.hardware("A100-SXM-80GB")
    part = catalog.read_hardware(
        file_of(
            tmp_path,
            'base = "A100-SXM-80GB"\nprice_per_hour = 1.5\nbandwidth_bytes_per_second = 1.9e12\n'
            "[flop_per_second]\nint8 = 500e12",
        )
    )
    assert part.flop_per_second == {**base.flop_per_second, "int8": 500e12}
    assert base.flop_per_second["int8"] == 624e12
    changed = {"name", "price_per_hour", "bandwidth_bytes_per_second", "flop_per_second", "source"}
    assert {
        field.name for field in fields(Hardware) if getattr(part, field.name) != getattr(base, field.name)
    } == changed
    # A changed figure must not pass for the vendor's.
    assert part.source == f"file ours.toml; the rest as A100-SXM-80GB: {base.source}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("base = H100", r"must be TOML"),
        ('base = "H100"', r"'H100' is unknown; did you mean H100-PCIe\?|'H100' is unknown; did you mean H100-SXM\?"),
        ("base = 1", "base must be text, got 1"),
        ('base = "H100-SXM"\nbandwidth = 3e12', "key 'bandwidth' is unknown; .*bandwidth_bytes_per_second"),
        (
            'base = "H100-SXM"\nbandwidth_bytes_per_second = 3.35',
            r"bandwidth_bytes_per_second must be in byte/s, so 3.35 TB/s is 3.35e12; got 3.35$",
        ),
        ('base = "H100-SXM"\nbandwidth_bytes_per_second = 3350', "3.35 TB/s is 3.35e12; got 3350$"),
        ('base = "H100-SXM"\nmemory_bytes = 80', "80 GB is 80e9; got 80$"),
        ('base = "H100-SXM"\nlink_bytes_per_second = 450', "450 GB/s is 450e9; got 450$"),
        ('base = "H100-SXM"\nl2_bytes = 50', "50 MB is 50e6; got 50$"),
        ('base = "H100-SXM"\nwatts = 0.7', "watts must be in watt; got 0.7$"),
        ('base = "H100-SXM"\nflop_per_second = 989', "flop_per_second must be a table by number format, got 989"),
        ('base = "H100-SXM"\n[flop_per_second]\nbfloat16 = 989', "flop_per_second.bfloat16 .* 989e12; got 989$"),
        (
            'base = "H100-SXM"\n[flop_per_second]\nbf16 = 989e12',
            "number format 'bf16' is unknown; did you mean bfloat",
        ),
        ('base = "H100-SXM"\nmemory_bytes = -80e9', "memory_bytes must be at least 0, got -8e\\+10"),
        ('base = "H100-SXM"\nmemory_bytes = 0', "memory_bytes must be above 0, got 0"),
        ('base = "H100-SXM"\nmemory_bytes = nan', "memory_bytes must be at least 0, got nan"),
        ('base = "H100-SXM"\nmemory_bytes = "80 GB"', "memory_bytes must be a number, got '80 GB'"),
        ('base = "H100-SXM"\nprice_per_hour = -1', "price_per_hour must be at least 0, got -1"),
        ('base = "H100-SXM"\ndevices_per_node = 2.5', "devices_per_node must be a whole number, got 2.5"),
        ("memory_bytes = 24e9", "must give bandwidth_bytes_per_second, flop_per_second, or the base"),
        ("", "must give memory_bytes, bandwidth_bytes_per_second, flop_per_second, or the base"),
        ('[a]\nbase = "T4"\n[b]\nbase = "T4"', "must hold one part, in one table or in none; got a, b"),
        ('name = "x"\n[a]\nbase = "T4"', "must hold one part, in one table or in none; got name, a"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_names_it(text, message, tmp_path):
    path = file_of(tmp_path, text)
    with pytest.raises(InputError, match=message) as refused:
        catalog.read_hardware(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        catalog.hardware_from(str(tmp_path / "none.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match=r"folder\.toml: cannot be read"):
        catalog.hardware_from(str(tmp_path / "folder.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"bytes\.toml: must be TOML"):
        catalog.hardware_from(str(tmp_path / "bytes.toml"))


def test_a_name_is_looked_up_and_a_file_is_read(tmp_path):
    assert catalog.hardware_from("MI300X") == catalog.hardware("MI300X")
    with pytest.raises(InputError, match="hardware 'ours' is unknown"):
        catalog.hardware_from("ours")
    table = file_of(tmp_path, '[cheap]\nbase = "L4"\nprice_per_hour = 0.7')
    assert catalog.hardware_from(str(table)).name == "cheap"
