import {controllerNames} from '#src/options/controller-names.js';
import type {FlagRow, FlagTable} from '#src/options/flag.js';
import {gateDependencies, gateTable} from '#src/options/gate-table.js';
import type {GateName, GateRow, GateState} from '#src/options/gate-table.js';
import {defaultText, typeLabel} from '#src/options/help.js';
import {emulatedVersions} from '#src/options/versions.js';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*');
const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
const table = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(header), `|${header.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');

/** Describes whether the flag has an effect. */
const effectText = ({implementation, withoutEffect}: FlagRow): string => {
  if (withoutEffect) return `no effect here, because ${withoutEffect}`;
  if (implementation === 'pending') return 'not yet';
  return 'yes';
};

const flagCells = ([flag, row]: readonly [string, FlagRow]): readonly string[] => {
  const names = [
    row.shorthand && row.shorthand !== flag ? `-${row.shorthand}` : '',
    `--${flag}`,
    ...(row.aliases ?? []).map(alias => `--${alias}`),
  ];
  const deprecated = row.deprecated ? `Deprecated: ${row.deprecated}. ` : '';
  return [names.filter(Boolean).join(', '), typeLabel(row) || 'bool', defaultText(row) ?? '-', `${deprecated}${row.help}`, effectText(row)];
};

const programText = ({program, summary, sections}: FlagTable): string => {
  const parts = sections.map(
    ({title, rows}) => `### ${title}\n\n${table(['Flag', 'Type', 'Default', 'Effect', 'Works'], Object.entries(rows).map(flagCells))}`,
  );
  return `## ${program}\n\n${summary}\n\n${parts.join('\n\n')}`;
};

const stateText = (state: GateState | undefined): string =>
  state ? `${state.stage}, ${state.default ? 'on' : 'off'}${state.locked ? ', locked' : ''}` : '-';

const gateCells = ([name, row]: readonly [string, GateRow]): readonly string[] => [
  name,
  ...emulatedVersions.map(version => stateText(row.at[version])),
  (row.reason === undefined ? 'has an effect' : `no effect: ${row.reason}`) +
    (gateDependencies[name as GateName] ? `; needs ${gateDependencies[name as GateName]!.join(', ')}` : ''),
];

const controllerCells = ({name, aliases = [], offByDefault, gates = []}: (typeof controllerNames)[number]): readonly string[] => [
  name,
  aliases.join(', ') || '-',
  offByDefault ? 'off' : 'on',
  gates.join(', ') || '-',
];

/** Returns docs/flags.md: the flags of programs and commands, the controllers and the feature gates in Markdown. */
export const flagsReference = (tables: readonly FlagTable[]): string => {
  const programs = tables.filter(({program}) => program !== 'plat version'); // It has the flags of all programs only.
  const gates = Object.entries<GateRow>(gateTable).sort(([a], [b]) => (a < b ? -1 : 1));
  return (
    [
      '# Flags, controllers and feature gates',
      'Made by `make docs` from the tables in `src/options`; do not edit. "Works" says whether the flag has an effect in this build: one that has none yet makes a warning line at start, and one that promises safety that this build cannot keep ends the start.',
      ...programs.map(programText),
      `## Controllers\n\nThe names \`--controllers\` takes. "Default" is what \`*\` does.\n\n${table(['Name', 'Aliases', 'Default', 'Gates'], controllerNames.map(controllerCells))}`,
      `## Feature gates\n\nStage and default by emulated version, and whether the gate has an effect. Setting one that has none is taken, with a warning line at start.\n\n${table(['Gate', ...emulatedVersions, 'Use'], gates.map(gateCells))}`,
    ].join('\n\n') + '\n'
  );
};
