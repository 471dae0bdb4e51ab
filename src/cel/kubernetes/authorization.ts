import type {Attributes, Authorizer, Decision} from '#src/api/authorization.js';
import type {UserInfo} from '#src/api/user.js';
import type {Bindings, Outcome, Program} from '#src/cel/compile.js';

/** Thrown where an expression asks an authorizer that answers later. */
export class PendingDecision extends Error {
  readonly attributes: Attributes;
  readonly decision: Promise<Decision>;

  constructor(attributes: Attributes, decision: Promise<Decision>) {
    super('an authorizer was asked that answers later');
    this.attributes = attributes;
    this.decision = decision;
  }
}

/**
 * Answers of an authorizer, each asked for once, for as long as one request is judged. An evaluation never waits: where an answer is
 * outstanding it is given up, and begun anew once that is known. Each attempt counts its costs from the beginning, so that what is told in the
 * end is what one undisturbed evaluation costs.
 */
export class Authorizations {
  readonly #authorizer: Authorizer;
  readonly #known = new Map<string, Decision>();

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer;
  }

  /** The decision. Throws `Unanswered` where it is yet to be made. */
  decide(attributes: Attributes): Decision {
    const key = JSON.stringify(attributes);
    const known = this.#known.get(key);
    if (known) return known;
    const decision = this.#authorizer.authorize(attributes);
    if (decision instanceof Promise) throw new PendingDecision(attributes, decision);
    this.#known.set(key, decision);
    return decision;
  }

  /** Runs what asks for decisions, as often as it takes until all it asks for are there. What it does must be the same each time. */
  async runUntilDecided<T>(run: () => T): Promise<T> {
    for (;;) {
      try {
        return run();
      } catch (error) {
        if (!(error instanceof PendingDecision)) throw error;
        this.#known.set(JSON.stringify(error.attributes), await settleDecision(error.decision));
      }
    }
  }
}

/** An authorizer that fails has no opinion, and says why. */
const settleDecision = async (decision: Promise<Decision>): Promise<Decision> => {
  try {
    return await decision;
  } catch (error) {
    return {decision: 'noOpinion', error: error instanceof Error ? error.message : String(error)};
  }
};

/** Runs a program that may ask an authorizer. Bindings are made for each attempt, so that what is found when it is asked for is found again. */
export const evaluateWithAuthorizer = async (program: Program, bindings: () => Bindings, authorizations: Authorizations, budget?: number): Promise<Outcome> =>
  authorizations.runUntilDecided(() => program.evaluate(bindings(), budget));

/** Who asks. */
export interface Subject {
  readonly user: UserInfo;
  readonly authorizations: Authorizations;
}
