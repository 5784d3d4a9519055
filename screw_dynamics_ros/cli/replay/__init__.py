"""The nodes themselves, run over recordings; `replay --help`."""
