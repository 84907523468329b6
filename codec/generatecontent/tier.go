package generatecontent

// upstreamTier spells a service tier for the vendor (SDK type ServiceTier: flex,
// standard, priority); ok is false for one it is known not to have. auto is what
// the vendor does without a tier.
func upstreamTier(tier string) (word string, ok bool) {
	switch tier {
	case "auto":
		return "", true
	case "default", "standard_only":
		return "standard", true
	case "scale":
		return "", false
	}
	return tier, true
}

// callerTier spells the tier of an answer: the vendor's word for the default one,
// other words as they are.
func callerTier(tier string) string {
	if tier == "default" {
		return "standard"
	}
	return tier
}
