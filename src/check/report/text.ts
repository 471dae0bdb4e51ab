import {counted} from '#src/base/text/counted.js';
import {printable} from '#src/base/text/printable.js';
import type {CheckResult} from '#src/check/check.js';
import {subjectText, type Finding} from '#src/check/findings/finding.js';
import type {Level} from '#src/check/findings/rules.js';

/** The most findings that are printed. */
const mostPrinted = 100;

const lineOf = ({level, rule, message, file, line, object}: Finding): string =>
  printable(`${file}:${line}: ${level}: ${object ? `${subjectText(object)}: ` : ''}${message.replaceAll(/\s+/g, ' ').trim()} [${rule}]`);

/** Returns the lines of a report: each finding with file and line, and how many there are. */
export const textReport = ({objects, findings}: CheckResult): string[] => {
  const {kept, counts} = findings;
  const printed = kept.slice(0, mostPrinted);
  const more = kept.length - printed.length + findings.more;
  const found = (['error', 'warning', 'note'] as const satisfies readonly Level[]).flatMap(level =>
    counts[level] > 0 ? [counted(counts[level], level)] : [],
  );
  return [
    ...printed.map(lineOf),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(printed.length > 0 ? [''] : []),
    `${counted(objects, 'object')} checked: ${found.length > 0 ? found.join(', ') : 'nothing found'}`,
  ];
};

/** Returns the report as data. */
export const jsonReport = ({objects, findings}: CheckResult): object => ({
  objects,
  counts: findings.counts,
  more: findings.more,
  findings: findings.kept,
});
