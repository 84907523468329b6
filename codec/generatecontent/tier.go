package generatecontent

// callerTier spells the tier of an answer: the vendor's word for the default one,
// other words as they are.
func callerTier(tier string) string {
	if tier == "default" {
		return "standard"
	}
	return tier
}
