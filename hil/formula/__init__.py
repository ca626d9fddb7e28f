"""Formulas that people write, such as ``40*sin(u)*cos(v)``: read strictly, differentiated exactly, never executed."""
