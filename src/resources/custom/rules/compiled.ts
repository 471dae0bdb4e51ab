import {compile, isCompileError, type Program} from '#src/cel/compile.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {storedExpressions} from '#src/cel/kubernetes/environment.js';
import {SchemaTypes} from '#src/cel/schema/schema-types.js';
import {bool, optionalOf, string, type Type} from '#src/cel/values/types.js';
import {fieldPathIn} from '#src/schema/custom/field-path.js';
import {extensions, type JsonSchema, type ValidationRule} from '#src/schema/custom/json-schema.js';
import type {SchemaNode} from '#src/schema/node.js';

/** A rule, ready to be asked. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Absent for an empty rule, and for one that cannot be compiled. */
  readonly program?: Program;
  readonly error?: string;
  readonly message?: Program;
  /** Whether it speaks of what was before, so that it is asked of changes only. */
  readonly isTransition: boolean;
  /** What its errors are of, below the value it is asked about. */
  readonly fieldPath: string;
}

/** What expressions can do that were stored once. */
const ruleBase: Environment = storedExpressions;

/** Whether an expression looks at a variable. */
export const references = ({ast}: Program, name: string): boolean => [...ast.references.values()].some(reference => reference.kind === 'name' && reference.meaning.name === name);

/** The type of what a part of a schema describes; undefined where expressions cannot see it. */
export const typeOfSchema = (node: SchemaNode, isRoot: boolean): {readonly type: Type; readonly types: SchemaTypes} | undefined => {
  const types = new SchemaTypes();
  const type = types.declare('selfType', node, isRoot);
  return type && {type, types};
};

/** The rules one part of a schema states (KEP-2876), each with what keeps it from being asked. */
export const compileRules = ({[extensions.validations]: rules = []}: JsonSchema, node: SchemaNode, isRoot: boolean): readonly CompiledRule[] => {
  if (rules.length === 0) return [];
  const part = typeOfSchema(node, isRoot);
  if (!part) return [];
  const {type, types} = part;
  const plain = extend(ruleBase, {types, variables: {self: type, oldSelf: type}});
  const withOptional = extend(ruleBase, {types, variables: {self: type, oldSelf: optionalOf(type)}});
  return rules.map(rule => compileRule(rule, rule.optionalOldSelf ? withOptional : plain, node.source as JsonSchema));
};

const compileRule = (rule: ValidationRule, environment: Environment, schema: JsonSchema): CompiledRule => {
  const text = rule.rule?.trim() ?? '';
  const found = rule.fieldPath ? fieldPathIn(schema, rule.fieldPath) : undefined;
  const fieldPath = found && 'text' in found ? found.text : '';
  const empty = {rule, isTransition: false, fieldPath};
  if (text === '') return empty;
  const program = compile(environment, text, bool);
  if (isCompileError(program)) return {...empty, error: program.reason === 'invalid' ? `compilation failed: ${program.message}` : program.message};
  const message = rule.messageExpression?.trim() ? compile(environment, rule.messageExpression, string) : undefined;
  return {rule, program, isTransition: references(program, 'oldSelf'), fieldPath, ...(message && !isCompileError(message) ? {message} : {})};
};
