// The interface of authorizers: the attributes of a request, and the decision to allow it, to deny it or to have no
// opinion.

import type {UserInfo} from './user.js';

/** The attributes of a request to authorize. `group` is the name on the wire. */
export interface Attributes {
  readonly user: UserInfo;
  readonly verb: string;
  /** Absent for paths that name no resource. */
  readonly resource?: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
    readonly labelSelector?: string;
    readonly fieldSelector?: string;
  };
  /** The path of a non-resource request. */
  readonly path: string;
}

/**
 * `noOpinion` leaves the decision to the next authorizer. `reason` is returned to the client when no authorizer allows
 * the request.
 */
export interface Decision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason?: string;
  /** An error during the decision; reported by access reviews. */
  readonly error?: string;
}

/** Permissions on resources, as the rules review lists them. */
export interface ResourceRule {
  readonly verbs: string[];
  readonly apiGroups?: string[];
  readonly resources?: string[];
  readonly resourceNames?: string[];
}

/** Permissions on paths. */
export interface NonResourceRule {
  readonly verbs: string[];
  readonly nonResourceURLs?: string[];
}

/** The rules of a user; `incomplete` when they cannot all be listed. */
export interface UserRules {
  readonly resourceRules: ResourceRule[];
  readonly nonResourceRules: NonResourceRule[];
  readonly incomplete: boolean;
  readonly error?: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}
