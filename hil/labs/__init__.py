"""Labs and marking: exercises with numbers, and what a class has handed in for them."""
