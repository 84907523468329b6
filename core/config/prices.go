package config

// PricesRemedy says what to do about budgets without prices.
const PricesRemedy = "name a file of prices in the configuration (prices:), or admit such requests uncounted (limits: {unpriced: allow})"
