// Package catalog knows what models accept: how much they take and produce, which parameters
// they refuse, how they are asked to think. Requests that are translated for a model are made
// to fit it; what that loses is named.
//
// What ships is models.yaml. A file of the operator's comes ahead of it, member by member.
//
// It must not import routes, upstreams or configuration but for core/config/strict.
package catalog
