import {failureAt, type TypeNode} from '#src/codegen/declarations/syntax.js';
import {substituted, type Arguments} from './substitute.js';
import {isNamed, isNull, isUndefined, unionOf, type TypeReader} from './nodes.js';

/** Decides conditional types, as far as it can be told from literals, scalars and lists. */
export class Conditions {
  readonly #types: TypeReader;

  constructor(types: TypeReader) {
    this.#types = types;
  }

  /** Returns the branch that a conditional type comes to. Throws an error if that cannot be told. */
  result({check, base, yes, no, distributesOver, at}: TypeNode & {readonly is: 'conditional'}): TypeNode {
    const checked = distributesOver === undefined ? [check] : this.#types.members(check);
    return unionOf(
      checked.map(each => {
        const inferred = new Map<string, TypeNode>();
        const own: Arguments = new Map(distributesOver === undefined ? [] : [[distributesOver, each]]);
        const holds = this.#extends(each, substituted(base, own), inferred);
        if (holds === undefined)
          throw failureAt(at, 'conditional types cannot become a schema unless literals and lists decide them: write out the type');
        return substituted(holds ? yes : no, new Map([...own, ...(holds ? inferred : [])]));
      }),
      at,
    );
  }

  /** Whether a type extends another. Throws an error if that cannot be told. */
  extends(type: TypeNode, base: TypeNode): boolean {
    const holds = this.#extends(type, base, new Map());
    if (holds === undefined) throw failureAt(type.at, 'it cannot be told which members of the union are meant: write out the type');
    return holds;
  }

  #extends(given: TypeNode, base: TypeNode, inferred: Map<string, TypeNode>): boolean | undefined {
    if (base.is === 'infer') {
      inferred.set(base.name, given);
      return true;
    }
    const type = this.#types.resolved(given);
    const of = base.is === 'array' ? base : this.#types.resolved(base);
    if (isNamed(of, 'unknown', 'any')) return true;
    if (of.is === 'union') {
      const answers = of.members.map(each => this.#extends(type, each, inferred));
      return answers.includes(true) ? true : answers.includes(undefined) ? undefined : false;
    }
    if (type.is === 'union') {
      const answers = type.members.map(each => this.#extends(each, of, inferred));
      return answers.includes(false) ? false : answers.includes(undefined) ? undefined : true;
    }
    if (of.is === 'array') {
      if (type.is === 'array') return this.#extends(type.items, of.items, inferred);
      return type.is === 'tuple'
        ? this.#extends(unionOf(type.members, type.at), of.items, inferred)
        : this.#isDecided(type)
          ? false
          : undefined;
    }
    if (of.is === 'literal') return this.#isDecided(type) ? type.is === 'literal' && type.value === of.value : undefined;
    if (isNull(type) || isUndefined(type)) return isUndefined(type) && isUndefined(of);
    if (type.is === 'literal') return this.#isDecided(of) ? isNamed(of, typeof type.value) : undefined;
    if (type.is === 'name' && of.is === 'name') return type.name === of.name;
    if (isNamed(of, 'object'))
      return this.#isDecided(type) ? type.is === 'object' || type.is === 'array' || type.is === 'tuple' : undefined;
    return type.is === 'object' || of.is === 'object' ? (type.is === of.is ? undefined : false) : undefined;
  }

  /** Whether it is known what the values of a type are. */
  #isDecided(type: TypeNode): boolean {
    return (
      type.is === 'literal' ||
      type.is === 'array' ||
      type.is === 'tuple' ||
      type.is === 'object' ||
      isNamed(type, 'string', 'number', 'boolean', 'undefined')
    );
  }
}
