package cases_test

func reasoningCases() []Case { return nil }
