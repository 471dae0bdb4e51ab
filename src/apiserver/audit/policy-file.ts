// Reads and validates the file of the audit policy, with the original's messages.

import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {Log} from '#src/base/log.js';
import {decodeParsed} from '#src/schema/decode/decode.js';
import {strictDecodingText} from '#src/schema/decode/error.js';
import {parseConfiguration} from '#src/apiserver/configuration/document.js';
import {anything, list, record, text} from '#src/apiserver/configuration/fields.js';
import {levels, stages, type GroupResources, type Policy, type PolicyRule, type Stage} from './policy.js';

const yesOrNo = {type: 'boolean'} as const;

const schema = record({
  kind: text,
  apiVersion: text,
  metadata: anything,
  omitStages: list(text),
  omitManagedFields: yesOrNo,
  rules: list(
    record({
      level: text,
      users: list(text),
      userGroups: list(text),
      verbs: list(text),
      resources: list(record({group: text, resources: list(text), resourceNames: list(text)})),
      namespaces: list(text),
      nonResourceURLs: list(text),
      omitStages: list(text),
      omitManagedFields: yesOrNo,
    }),
  ),
});

/**
 * Reads a policy. Unknown and duplicate fields are ignored with a warning, as in the original. Throws an error of one
 * line for everything else that is wrong.
 */
export const readPolicy = (source: string, {naming, log}: {readonly naming: Naming; readonly log: Log}): Policy => {
  const body = parseConfiguration(source);
  const {kind, apiVersion} = body;
  const expected = naming.apiVersion('audit', 'v1');
  if (!kind || !apiVersion) throw new Error(`failed decoding: ${kind ? 'apiVersion' : 'kind'} is missing: expected Policy of ${expected}`);
  if (kind !== 'Policy' || apiVersion !== expected)
    throw new Error(
      `failed decoding: no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}: expected Policy of ${expected}`,
    );
  const {object, problems} = decodeParsed<Partial<Policy>>(body, schema, 'Strict');
  if (problems.length > 0)
    log.warn({err: new Error(strictDecodingText(problems))}, 'audit policy contains errors, falling back to lenient decoding');
  const {rules = []} = object;
  const errors = [
    ...problemsOfStages(object.omitStages, 'omitStages'),
    ...rules.flatMap((rule, i) => [...problemsOf(rule, `rules[${i}]`)]),
  ];
  const texts = [...new Set(errors.map(({path, detail}) => `${path}: ${detail}`))];
  if (texts.length > 0) throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  if (rules.length === 0) throw new Error('loaded illegal policy with 0 rules');
  return {...object, rules};
};

function* problemsOf(rule: PolicyRule, path: string): Iterable<FieldError> {
  const {level, nonResourceURLs = [], resources = [], namespaces = [], omitStages} = rule;
  if (!level) yield required(`${path}.level`);
  else if (!levels.includes(level)) yield notSupported(`${path}.level`, level, levels);
  yield* problemsOfPaths(nonResourceURLs, `${path}.nonResourceURLs`);
  for (const each of resources) yield* problemsOfResources(each, `${path}.resources`);
  yield* problemsOfStages(omitStages, `${path}.omitStages`);
  if (nonResourceURLs.length > 0 && resources.length + namespaces.length > 0)
    yield invalid(`${path}.nonResourceURLs`, nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs');
}

function* problemsOfPaths(urls: readonly string[], path: string): Iterable<FieldError> {
  for (const [i, url] of urls.entries()) {
    if (url === '*') continue;
    if (!url.startsWith('/')) yield invalid(`${path}[${i}]`, url, "non-resource URL rules must begin with a '/' character");
    if (url.slice(0, -1).includes('*'))
      yield invalid(`${path}[${i}]`, url, "non-resource URL wildcards '*' must be the final character of the rule");
  }
}

function* problemsOfResources({group = '', resources = [], resourceNames = []}: GroupResources, path: string): Iterable<FieldError> {
  const problems = group === '' ? [] : dnsSubdomainProblems(group);
  if (problems.length > 0) yield invalid(`${path}.group`, group, problems.join(','));
  if (resourceNames.length > 0 && resources.length === 0)
    yield invalid(`${path}.resourceNames`, resourceNames, 'using resourceNames requires at least one resource');
}

function* problemsOfStages(omitted: readonly Stage[] = [], path: string): Iterable<FieldError> {
  for (const [i, stage] of omitted.entries())
    if (!stages.includes(stage)) yield invalid(`${path}[${i}]`, stage, `allowed stages are ${stages.join(',')}`);
}
