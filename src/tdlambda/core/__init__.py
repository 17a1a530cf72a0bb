"""What an algorithm and a rule are (declarations), and the schedules that make machine code of them."""
