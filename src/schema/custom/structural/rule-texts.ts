import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {fieldPathIn} from './field-path.js';
import {extensions, type JsonSchema, type ValidationRule} from '#src/schema/json-schema.js';
import {nonStructuralReason} from './structural.js';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

const hasBreaks = (text: string): boolean => /[\n\r]/.test(text);

function* validateText({rule = '', message = ''}: ValidationRule, at: string): Iterable<FieldError> {
  const [ruleText, text] = [rule.trim(), message.trim()];
  if (ruleText === '') yield required(`${at}.rule`, 'rule is not specified');
  else if (message !== '' && text === '') yield invalid(`${at}.message`, message, 'must be non-empty if specified');
  else if (hasBreaks(text)) yield invalid(`${at}.message`, message, 'must not contain line breaks');
  else if (hasBreaks(ruleText) && text === '') yield required(`${at}.message`, 'message must be specified if rule contains line breaks');
}

/** Validates the form of a schema's rules. Their expressions are compiled elsewhere. */
export function* validateRuleTexts(schema: JsonSchema, path: string): Iterable<FieldError> {
  for (const [i, rule] of (schema[extensions.validations] ?? []).entries()) {
    const at = `${path}.${extensions.validations}[${i}]`;
    yield* validateText(rule, at);
    const {messageExpression, reason, fieldPath} = rule;
    if (messageExpression && !messageExpression.trim())
      yield required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified');
    if (reason !== undefined && !reasons.includes(reason)) yield notSupported(`${at}.reason`, reason, reasons);
    if (!fieldPath) continue;
    if (!fieldPath.trim()) yield invalid(`${at}.fieldPath`, fieldPath, 'must be non-empty if specified');
    if (hasBreaks(fieldPath)) yield invalid(`${at}.fieldPath`, fieldPath, 'must not contain line breaks');
    if (nonStructuralReason(schema) === undefined && 'problem' in fieldPathIn(schema, fieldPath))
      yield invalid(`${at}.fieldPath`, fieldPath, 'must be a valid path');
  }
}
