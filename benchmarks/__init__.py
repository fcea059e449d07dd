"""Programs that use the library and measure it: none of them is in the wheel."""
