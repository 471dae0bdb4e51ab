import type {UserInfo} from '#src/api/user.js';

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

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}
