import {isPending} from '#src/base/eventually.js';
import type {Attributes, Authorizer, Decision} from '#src/api/authorization.js';
import type {UserInfo} from '#src/api/user.js';

/** Thrown when an expression needs a decision that the authorizer has not made yet. */
class PendingDecision extends Error {
  readonly attributes: Attributes;
  readonly decision: Promise<Decision>;

  constructor(attributes: Attributes, decision: Promise<Decision>) {
    super('an authorizer was asked that answers later');
    this.attributes = attributes;
    this.decision = decision;
  }
}

/**
 * Decisions of an authorizer, cached for one request. When a decision is pending, the evaluation is aborted and
 * restarted once the decision is known. Each attempt counts its cost from zero, so the reported cost is that of one
 * uninterrupted evaluation.
 */
export class Authorizations {
  readonly #authorizer: Authorizer;
  readonly #known = new Map<string, Decision>();

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer;
  }

  /** Returns the decision. Throws `PendingDecision` if the authorizer decides asynchronously. */
  decide(attributes: Attributes): Decision {
    const key = JSON.stringify(attributes);
    const known = this.#known.get(key);
    if (known) return known;
    const decision = this.#authorizer.authorize(attributes);
    if (isPending(decision)) throw new PendingDecision(attributes, decision);
    this.#known.set(key, decision);
    return decision;
  }

  /** Runs a function and repeats it until all its decisions are known. The function must be deterministic. */
  async runUntilDecided<T>(run: () => T | Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof PendingDecision)) throw error;
        this.#known.set(JSON.stringify(error.attributes), await settleDecision(error.decision));
      }
    }
  }
}

/** An authorizer that fails has no opinion; the error is kept in the decision. */
const settleDecision = async (decision: Promise<Decision>): Promise<Decision> => {
  try {
    return await decision;
  } catch (error) {
    return {decision: 'noOpinion', error: error instanceof Error ? error.message : String(error)};
  }
};

/** The user whose permissions are checked, and the cached decisions. */
export interface Subject {
  readonly user: UserInfo;
  readonly authorizations: Authorizations;
}
