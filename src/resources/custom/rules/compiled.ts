import {shareSteps, type Steps} from '#src/base/steps.js';
import {compile, isCompileError, type Program} from '#src/cel/compile.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {storedExpressions} from '#src/cel/kubernetes/environment.js';
import {SchemaTypes} from '#src/cel/schema/schema-types.js';
import {bool, optionalOf, string, type Type} from '#src/cel/values/types.js';
import {fieldPathIn} from '#src/schema/custom/structural/field-path.js';
import {extensions, type JsonSchema, type ValidationRule} from '#src/schema/json-schema.js';
import type {SchemaNode} from '#src/schema/node.js';

// Compiles the validation rules of stored definitions. A rule that does not compile (any more) keeps its error, which
// is reported when the rule would be evaluated.

/** A compiled rule. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Absent for an empty rule and for one that does not compile. */
  readonly program?: Program;
  readonly error?: string;
  readonly message?: Program;
  /** Whether the rule refers to `oldSelf`, so that it is evaluated for updates only. */
  readonly isTransition: boolean;
  /** The path of its errors, below the validated value. */
  readonly fieldPath: string;
}

/** The environment of stored expressions. */
const ruleBase: Environment = storedExpressions;

/** Reports whether an expression references a variable. */
export const references = ({ast}: Program, name: string): boolean =>
  [...ast.references.values()].some(reference => reference.kind === 'name' && reference.meaning.name === name);

/** Returns the CEL type of a schema; undefined if expressions cannot represent it. */
export const typeOfSchema = (node: SchemaNode, isRoot: boolean): {readonly type: Type; readonly types: SchemaTypes} | undefined => {
  const types = new SchemaTypes();
  const type = types.declare('selfType', node, isRoot);
  return type && {type, types};
};

/**
 * The rules of one schema (KEP-2876), each compiled when it is first needed, with the error of those that do not
 * compile.
 */
export class CompiledRules {
  readonly count: number;
  readonly #compiled: CompiledRule[] = [];
  readonly #compiling = new Map<number, () => Steps<CompiledRule>>();
  readonly #compile: (index: number) => Steps<CompiledRule>;

  constructor(schema: JsonSchema, node: SchemaNode, isRoot: boolean) {
    const {[extensions.validations]: rules = []} = schema;
    const compile = rules.length > 0 ? compilerOf(node, isRoot) : undefined;
    this.count = compile ? rules.length : 0;
    this.#compile = index => compile!(rules[index]!);
  }

  /** Returns a rule that was needed before. */
  known(index: number): CompiledRule | undefined {
    return this.#compiled[index];
  }

  /** Compiles a rule, in steps, once for all who need it. */
  *compiled(index: number): Steps<CompiledRule> {
    yield;
    const known = this.#compiled[index];
    if (known) return known;
    const compiling = this.#compiling.get(index) ?? shareSteps(this.#compile(index));
    this.#compiling.set(index, compiling);
    const rule = yield* compiling();
    this.#compiling.delete(index);
    return (this.#compiled[index] = rule);
  }
}

/** Returns what compiles the rules of a schema; undefined if expressions cannot represent it. */
const compilerOf = (node: SchemaNode, isRoot: boolean): ((rule: ValidationRule) => Steps<CompiledRule>) | undefined => {
  const part = typeOfSchema(node, isRoot);
  if (!part) return undefined;
  const {type, types} = part;
  const plain = extend(ruleBase, {types, variables: {self: type, oldSelf: type}});
  const withOptional = extend(ruleBase, {types, variables: {self: type, oldSelf: optionalOf(type)}});
  return rule => compileRule(rule, rule.optionalOldSelf ? withOptional : plain, node.source as JsonSchema);
};

const compileRule = function* (rule: ValidationRule, environment: Environment, schema: JsonSchema): Steps<CompiledRule> {
  const text = rule.rule?.trim() ?? '';
  const found = rule.fieldPath ? fieldPathIn(schema, rule.fieldPath) : undefined;
  const fieldPath = found && 'text' in found ? found.text : '';
  const empty = {rule, isTransition: false, fieldPath};
  if (text === '') return empty;
  const program = yield* compile(environment, text, bool);
  if (isCompileError(program))
    return {...empty, error: program.reason === 'invalid' ? `compilation failed: ${program.message}` : program.message};
  const message = rule.messageExpression?.trim() ? yield* compile(environment, rule.messageExpression, string) : undefined;
  return {
    rule,
    program,
    isTransition: references(program, 'oldSelf'),
    fieldPath,
    ...(message && !isCompileError(message) ? {message} : {}),
  };
};
