package console

import "net/http"

// handler answers a request of somebody who is signed in.
type handler func(*call) error

// routes are the pages behind the sign-in.
var routes = map[string]handler{
	"GET /{$}":                          home,
	"POST /sign-out":                    signOut,
	"GET /requests":                     listRequests,
	"GET /requests.csv":                 requestsCSV,
	"GET /requests/live":                liveRequests,
	"GET /requests/{id}":                showRequest,
	"GET /requests/{id}/file":           requestFile,
	"GET /requests/{id}/bodies":         showBodies,
	"POST /requests/{id}/bodies/delete": deleteBodies,
	"GET /xray":                         showXRay,
	"POST /xray":                        showXRay,
	"GET /playground":                   showPlayground,
	"POST /playground/run":              runPlayground,
	"GET /upstreams":                    showUpstreams,
	"GET /upstreams/try":                showTry,
	"POST /upstreams/try":               tryUpstream,
	"GET /configuration":                showConfiguration,
	"POST /configuration":               changeConfiguration,
	"POST /configuration/check":         checkConfiguration,
	"GET /captures":                     showCaptures,
	"POST /captures":                    beginCapture,
	"POST /captures/end":                endCapture,
	"GET /nodes":                        showNodes,
	"GET /usage":                        showUsage,
	"GET /usage.csv":                    usageCSV,
	"GET /keys":                         listKeys,
	"GET /keys/new":                     newKey,
	"POST /keys":                        createKey,
	"GET /keys/import":                  importForm,
	"POST /keys/import":                 importKeys,
	"GET /keys/{id}":                    showKey,
	"POST /keys/{id}/settings":          updateKey,
	"POST /keys/{id}/rotate":            rotateKey,
	"POST /keys/{id}/revoke":            revokeKey,
	"GET /audit":                        showAudit,
	"POST /audit/verify":                verifyAudit,
	"GET /sessions":                     listSessions,
	"POST /sessions/link":               makeLink,
	"POST /sessions/{id}/end":           endSession,
	"GET /connect":                      showConnect,
	"POST /connect":                     connectWithKey,
	"GET /":                             notFound,
}

// navigation are the pages that each page links, in order. Key is what is typed behind g.
var navigation = []struct{ Path, Title, Key string }{
	{"/requests", "Requests", "r"},
	{"/xray", "X-ray", "x"},
	{"/playground", "Playground", "y"},
	{"/usage", "Usage", "u"},
	{"/keys", "Keys", "k"},
	{"/upstreams", "Upstreams", "p"},
	{"/configuration", "Configuration", "f"},
	{"/captures", "Captures", "b"},
	{"/nodes", "Nodes", "n"},
	{"/audit", "Audit", "a"},
	{"/sessions", "Sessions", "s"},
	{"/connect", "Connect", "c"},
}

// home leads to the first page.
func home(c *call) error {
	http.Redirect(c.w, c.r, navigation[0].Path, http.StatusSeeOther)
	return nil
}

func notFound(*call) error { return &pageError{http.StatusNotFound, "There is no such page."} }
