import {isAbsolute} from 'node:path';
import {pathToFileURL} from 'node:url';
import type {CheckResult} from '#src/check/check.js';
import {subjectText, type Finding} from '#src/check/findings/finding.js';
import {rules, type Rule} from '#src/check/findings/rules.js';

/** The format of static analysis results (OASIS SARIF 2.1.0), which code hosts show beside the lines. */
const schema = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';

const names = Object.keys(rules) as Rule[];

/** Returns the report as a SARIF log. Files are named as they were given. */
export const sarifReport = ({findings}: CheckResult, version: string): object => ({
  $schema: schema,
  version: '2.1.0',
  runs: [
    {
      tool: {
        driver: {
          name: 'plat check',
          semanticVersion: version.replace(/^v/, ''),
          rules: names.map(id => ({id, shortDescription: {text: rules[id].about}, defaultConfiguration: {level: rules[id].level}})),
        },
      },
      columnKind: 'utf16CodeUnits',
      results: findings.kept.map(resultOf),
      ...(findings.more > 0 ? {properties: {more: findings.more}} : {}),
    },
  ],
});

const resultOf = ({rule, level, message, file, line, field, object}: Finding): object => ({
  ruleId: rule,
  ruleIndex: names.indexOf(rule),
  level,
  message: {text: message},
  locations: [
    {
      physicalLocation: {artifactLocation: {uri: uriOf(file)}, region: {startLine: line}},
      ...(object ? {logicalLocations: [{fullyQualifiedName: `${subjectText(object)}${field ? ` ${field}` : ''}`, kind: 'object'}]} : {}),
    },
  ],
});

const uriOf = (file: string): string => {
  if (file === '-') return 'stdin';
  return isAbsolute(file) ? pathToFileURL(file).href : file.split(/[\\/]/).map(encodeURIComponent).join('/');
};
