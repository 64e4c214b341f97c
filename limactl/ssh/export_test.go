package ssh

import "time"

// Limits are the times after which a shared connection that does not answer counts as hung.
var Limits = map[string]time.Duration{"hedge": hedge, "masterLimit": masterLimit, "serviceLimit": serviceLimit}
