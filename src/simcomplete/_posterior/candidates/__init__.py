"""The posterior model of complete candidates."""
