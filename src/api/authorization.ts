import type {UserInfo} from './user.js';

/** What is asked of an authorizer. `group` is on the wire's spelling. */
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

/** `noOpinion` leaves the decision to the next authorizer. `reason` is told to the caller when nobody allows. */
export interface Decision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason?: string;
  /** What went wrong while deciding; reported by the access reviews. */
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

/** What a user may do, as far as it can be listed; `incomplete` when there may be more. */
export interface UserRules {
  readonly resourceRules: ResourceRule[];
  readonly nonResourceRules: NonResourceRule[];
  readonly incomplete: boolean;
  readonly error?: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}
