// Decides which requests are recorded, and how; the events go to one sink. It keeps nothing of a request.

import type {UserInfo} from '#src/api/user.js';
import type {AuditMetrics} from './audit-metrics.js';
import {policyEvaluator, type Policy} from './policy.js';
import {RequestAudit, type AuditedRequest} from './request-audit.js';
import type {AuditorSettings} from './settings.js';

export interface Auditor {
  readonly metrics: AuditMetrics;
  /**
   * Returns the audit of a request whose user is known, or was not authenticated; undefined if the policy does not
   * record it.
   */
  audit(audited: AuditedRequest, user: UserInfo | undefined): RequestAudit | undefined;
}

export const createAuditor = (policy: Policy, settings: AuditorSettings): Auditor => {
  const evaluate = policyEvaluator(policy);
  const {metrics, naming} = settings;
  const shared = {
    ...settings,
    keys: {decision: naming.groupKey('authorization', 'decision'), reason: naming.groupKey('authorization', 'reason')},
  };
  return {
    metrics,
    audit(audited, user) {
      const recording = evaluate(user, audited.info);
      metrics.recorded(recording);
      return recording && new RequestAudit(shared, audited, user, recording);
    },
  };
};
