// What a plugin works by where administrators configure that by objects: policies, webhooks, quotas.

/** The rules of a plugin. */
export interface Rules {
  /** Whether there are none, so that the plugin has nothing to do; false until that is known. */
  readonly none: boolean;
}

/** Where rules come from. */
export interface RuleSource<T> {
  /** Follows the objects. Resolves when the existing ones are known. */
  follow(): Promise<void>;
  /** The rules that the known objects make. */
  arrange(): {readonly rules: T; readonly none: boolean};
}

/** Rules made from objects, which are followed from the first request on. */
export class FollowedRules<T> implements Rules {
  none = false;
  readonly #source: RuleSource<T>;
  #rules: T;
  #isKnown = false;
  #following: Promise<void> | undefined;

  constructor(source: RuleSource<T>) {
    this.#source = source;
    this.#rules = source.arrange().rules;
  }

  /** The rules; a promise only until the existing objects are known. */
  current(): T | Promise<T> {
    if (this.#isKnown) return this.#rules;
    this.#following ??= this.#follow();
    return this.#following.then(() => this.#rules);
  }

  /** Called when an object has changed. */
  changed(): void {
    if (!this.#isKnown) return;
    const {rules, none} = this.#source.arrange();
    this.#rules = rules;
    this.none = none;
  }

  async #follow(): Promise<void> {
    try {
      await this.#source.follow();
    } catch (error) {
      this.#following = undefined;
      throw error;
    }
    this.#isKnown = true;
    this.changed();
  }
}
