import {andThen} from '#src/base/eventually.js';
import type {Auditor} from '#src/apiserver/audit/auditor.js';
import {AuditTrail} from '#src/apiserver/audit/trail.js';
import type {Filter} from './filter.js';
import type {Identified, Received} from './stages.js';

/** Generates the last audit events of every request, those that were refused before their user was known included. */
export const withAuditTrail =
  (auditor: Auditor): Filter<Received, Received> =>
  next =>
  received => {
    const trail = (received.trail = new AuditTrail(auditor, received));
    return andThen(next(received), answer => trail.finish(answer));
  };

/** Evaluates the audit policy for the user of a request, and generates the first event. */
export const withAudit: Filter<Identified, Identified> = next => identified =>
  andThen(identified.trail!.begin(identified.user), notes => next(notes ? identified.identified(identified.user, notes) : identified));
