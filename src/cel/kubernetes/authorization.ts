import type {Attributes, Authorizer, Decision} from '#src/api/authorization.js';
import type {UserInfo} from '#src/api/user.js';
import type {Bindings, Outcome, Program} from '#src/cel/compile.js';

/** Thrown where an expression asks an authorizer that answers later. */
export class Unanswered extends Error {
  readonly attributes: Attributes;
  readonly answer: Promise<Decision>;

  constructor(attributes: Attributes, answer: Promise<Decision>) {
    super('an authorizer was asked that answers later');
    this.attributes = attributes;
    this.answer = answer;
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
    const answer = this.#authorizer.authorize(attributes);
    if (answer instanceof Promise) throw new Unanswered(attributes, answer);
    this.#known.set(key, answer);
    return answer;
  }

  /** Runs what asks for decisions, as often as it takes until all it asks for are there. What it does must be the same each time. */
  async settle<T>(run: () => T): Promise<T> {
    for (;;) {
      try {
        return run();
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.#known.set(JSON.stringify(error.attributes), await answered(error.answer));
      }
    }
  }
}

/** An authorizer that fails has no opinion, and says why. */
const answered = async (answer: Promise<Decision>): Promise<Decision> => {
  try {
    return await answer;
  } catch (error) {
    return {decision: 'noOpinion', error: error instanceof Error ? error.message : String(error)};
  }
};

/** Runs a program that may ask an authorizer. Bindings are made for each attempt, so that what is found when it is asked for is found again. */
export const evaluateAsking = async (program: Program, bindings: () => Bindings, authorizations: Authorizations, budget?: number): Promise<Outcome> =>
  authorizations.settle(() => program.evaluate(bindings(), budget));

/** Who asks. */
export interface Asker {
  readonly user: UserInfo;
  readonly authorizations: Authorizations;
}
