package coreproc

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/upstream/credential"
	"github.com/genway/genway/core/upstream/provider"
)

// credentialOf makes the credential that an upstream's auth describes; nil without one.
func credentialOf(name string, u config.Upstream) credential.Credential {
	name = u.AuthName(name)
	var place provider.Endpoint
	if e := u.Place(); e != nil {
		place = *e
	}
	switch a := u.Auth; a.Way() {
	case "entra":
		return credential.NewEntra(name, credential.Entra{
			Authority: strings.TrimRight(a.Entra.Authority, "/"), Tenant: a.Entra.Tenant, ClientID: a.Entra.ClientID, Scope: cmp.Or(a.Entra.Scope, place.Scope),
			ClientSecret: a.Entra.ClientSecret, ClientSecretFile: a.Entra.ClientSecretFile, TokenFile: a.Entra.TokenFile,
		})
	case "managed_identity":
		return credential.NewManagedIdentity(name, credential.ManagedIdentity{
			ClientID: a.ManagedIdentity.ClientID, Resource: strings.TrimSuffix(cmp.Or(a.ManagedIdentity.Scope, place.Scope), "/.default"),
			Endpoint: os.Getenv("IDENTITY_ENDPOINT"), Header: os.Getenv("IDENTITY_HEADER"),
		})
	case "google":
		return credential.NewGoogle(name, credential.Google{File: a.Google.CredentialsFile, Metadata: a.Google.Metadata})
	case "aws":
		return credential.NewAWS(name, credential.AWS{
			Source: a.AWS.SourceOrDefault(), Profile: a.AWS.Profile,
			AccessKeyID: a.AWS.AccessKeyID, SecretAccessKey: a.AWS.SecretAccessKey, SessionToken: a.AWS.SessionToken,
			RoleARN: a.AWS.RoleARN, TokenFile: a.AWS.TokenFile,
			Region: u.SigningRegion(), Service: cmp.Or(a.AWS.Service, place.Service, "bedrock"),
		})
	case "command":
		return credential.NewCommand(name, credential.Command{Args: a.Command.Run, Lifetime: time.Duration(a.Command.Lifetime), Header: a.Command.Header})
	}
	return nil
}
