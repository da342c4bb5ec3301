"""Three wire forms of one service: 2016-08-15, 2021-04-06 and 2023-03-30. Rules live elsewhere."""
