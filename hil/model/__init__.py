"""What an arm is: chains, joints, limits, shapes and rigs, read strictly from TOML."""
