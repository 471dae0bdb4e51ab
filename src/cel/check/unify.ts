import {dyn, withTypeParams, type Type} from '#src/cel/values/types.js';

const isDyn = ({kind}: Type): boolean => kind === 'dyn';
const isDynOrError = ({kind}: Type): boolean => kind === 'dyn' || kind === 'error';

/** Whether null is assignable to the type. */
const takesNull = ({kind}: Type): boolean =>
  kind === 'null' || kind === 'object' || kind === 'opaque' || kind === 'duration' || kind === 'timestamp';

/** Whether `left` is at least as general as `right`. */
const isMoreGeneral = (left: Type, right: Type): boolean => {
  if (isDyn(left) || left.kind === 'param') return true;
  if (isDyn(right) || right.kind === 'param' || left.kind !== right.kind) return false;
  switch (left.kind) {
    case 'opaque':
    case 'list':
    case 'map':
      return (
        left.name === right.name &&
        left.params.length === right.params.length &&
        left.params.every((param, index) => isMoreGeneral(param, right.params[index]!))
      );
    case 'type':
      return true;
    default:
      return left.text === right.text;
  }
};

/** Returns the more general of two assignable types. */
export const moreGeneral = (left: Type, right: Type): Type => (isMoreGeneral(left, right) ? left : right);

/**
 * The type parameter substitutions found while an expression is checked. A failed assignment restores the substitutions
 * from before the attempt.
 */
export class Substitutions {
  readonly #found = new Map<string, Type>();
  #learned: [name: string, before: Type | undefined][] = [];

  #learn(name: string, type: Type): void {
    this.#learned.push([name, this.#found.get(name)]);
    this.#found.set(name, type);
  }

  /** Whether `param` does not occur in `within`. */
  #isFreeOf(param: Type, within: Type): boolean {
    if (param.text === within.text) return false;
    if (within.kind === 'param') {
      const found = this.#found.get(within.name);
      return !found || this.#isFreeOf(param, found);
    }
    return within.params.every(inner => this.#isFreeOf(param, inner));
  }

  /** Whether `param` can be substituted by `type`, and whether it had a substitution before. */
  #mayBe(param: Type, type: Type): {readonly fits: boolean; readonly wasKnown: boolean} {
    if (param.text === type.text) return {fits: true, wasKnown: true};
    const found = this.#found.get(param.name);
    if (!found) {
      const fits = this.#isFreeOf(param, type);
      if (fits) this.#learn(param.name, type);
      return {fits, wasKnown: false};
    }
    if (type.text === found.text) return {fits: true, wasKnown: true};
    if (!this.#fits(type, found)) return {fits: false, wasKnown: true};
    const general = moreGeneral(type, found);
    if (this.#isFreeOf(param, general)) this.#learn(param.name, general);
    return {fits: true, wasKnown: true};
  }

  #fits(left: Type, right: Type): boolean {
    if (right.kind === 'param') {
      const {fits, wasKnown} = this.#mayBe(right, left);
      if (fits || wasKnown) return fits;
    }
    if (left.kind === 'param') return this.#mayBe(left, right).fits;
    if (isDynOrError(left) || isDynOrError(right)) return true;
    if (left.kind === 'null') return takesNull(right);
    if (right.kind === 'null') return takesNull(left);
    switch (left.kind) {
      case 'type':
        return right.kind === 'type';
      case 'opaque':
      case 'list':
      case 'map':
        return left.kind === right.kind && left.name === right.name && this.#fitAll(left.params, right.params);
      default:
        return left.text === right.text;
    }
  }

  #fitAll(left: readonly Type[], right: readonly Type[]): boolean {
    return left.length === right.length && left.every((type, index) => this.#fits(type, right[index]!));
  }

  /** Whether values of the `left` types are assignable to the `right` types. Records the substitutions on success. */
  assign(left: readonly Type[], right: readonly Type[]): boolean {
    this.#learned = [];
    if (this.#fitAll(left, right)) return true;
    for (const [name, before] of this.#learned.toReversed()) {
      if (before) this.#found.set(name, before);
      else this.#found.delete(name);
    }
    return false;
  }

  /** Applies the substitutions to a type. Unresolved parameters become `dyn` where `final` is set. */
  apply(type: Type, final = false): Type {
    if (!type.isOpen) return type;
    if (type.kind === 'param') {
      const found = this.#found.get(type.name);
      if (found) return this.apply(found, final);
      return final ? dyn : type;
    }
    return withTypeParams(
      type,
      type.params.map(inner => this.apply(inner, final)),
    );
  }
}
