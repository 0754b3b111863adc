"""Parameters that reach the draft but not the target's rows, or the other way round."""

from __future__ import annotations

from dataclasses import replace

from specsim.conformance.decoder import TableDecoder
from specsim.conformance.parameters import Parameters


class DraftHotter(TableDecoder):
    """Drafts are drawn at temperature 1, and judged by a q at 0.7."""

    def draft_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, temperature=1.0)

    def ratio_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, temperature=0.7)


class RawRatio(TableDecoder):
    """Drafts are drawn from a truncated law, and judged by the whole one."""

    def ratio_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, top_k=None, top_p=None, min_p=None)


class NoTemperature(TableDecoder):
    """Temperature is not applied to the target's rows."""

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, temperature=1.0)


class NoTopK(TableDecoder):
    """Top-k is not applied to the target's rows."""

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, top_k=None)


class NoTopP(TableDecoder):
    """Top-p is not applied to the target's rows."""

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, top_p=None)


class NoMinP(TableDecoder):
    """Min-p is not applied to the target's rows."""

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, min_p=None)


class NoBias(TableDecoder):
    """Logit bias is not applied to the target's rows."""

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, logit_bias=())


class NoPenalties(TableDecoder):
    """Penalties are not applied to the target's rows."""

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, repetition_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0)


class NoBans(TableDecoder):
    """Banned tokens are allowed on the target's rows."""

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        return replace(parameters, banned_ids=())


FAULTS = {
    "parameters.draft_hotter_than_ratio": DraftHotter,
    "parameters.draft_truncated_ratio_raw": RawRatio,
    "parameters.temperature_ignored_on_verify": NoTemperature,
    "parameters.top_k_ignored_on_verify": NoTopK,
    "parameters.top_p_ignored_on_verify": NoTopP,
    "parameters.min_p_ignored_on_verify": NoMinP,
    "parameters.bias_ignored_on_verify": NoBias,
    "parameters.penalties_ignored_on_verify": NoPenalties,
    "parameters.bans_ignored_on_verify": NoBans,
}
