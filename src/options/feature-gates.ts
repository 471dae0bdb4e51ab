import {gateDependencies, gateTable} from './gate-table.js';
import type {GateName, GateRow, GateStage, GateState} from './gate-table.js';
import {OptionError} from './option-error.js';
import {isCoreComponent, type Versions} from './versions.js';

/** The feature gates of one process. */
export interface FeatureGates {
  enabled(gate: GateName): boolean;
  /** All gates known at the emulated version, sorted by name. */
  list(): readonly {readonly name: GateName; readonly stage: GateStage; readonly enabled: boolean}[];
}

const rows: Readonly<Record<string, GateRow>> = gateTable;
const stageGates = {AllAlpha: 'alpha', AllBeta: 'beta'} as const;

const isStageGate = (name: string): name is keyof typeof stageGates => name in stageGates;

const parseBoolean = (name: string, text: string): boolean => {
  if (/^(?:1|t|true)$/i.test(text)) return true;
  if (/^(?:0|f|false)$/i.test(text)) return false;
  throw new OptionError(`invalid value for --feature-gates: ${name}=${text} must be true or false`);
};

const gateNameOf = (key: string): string => {
  const colon = key.indexOf(':');
  if (colon < 0) return key;
  const component = key.slice(0, colon).trim();
  if (!isCoreComponent(component)) throw new OptionError(`invalid value for --feature-gates: component not registered: ${component}`);
  return key.slice(colon + 1).trim();
};

interface GateSetting {
  readonly name: GateName;
  readonly on: boolean;
  readonly state: GateState;
}

const parseSetting = (key: string, text: string, {emulated}: Versions): GateSetting => {
  const name = gateNameOf(key);
  if (!Object.hasOwn(rows, name)) throw new OptionError(`invalid value for --feature-gates: unrecognized feature gate: ${name}`);
  const on = parseBoolean(name, text);
  const state = rows[name]!.at[emulated];
  if (!state)
    throw new OptionError(
      `invalid value for --feature-gates: cannot set feature gate ${name}: it does not exist at emulated version ${emulated}`,
    );
  if (state.locked && on !== state.default)
    throw new OptionError(
      `invalid value for --feature-gates: cannot set feature gate ${name} to ${on}, feature is locked to ${state.default}`,
    );
  return {name: name as GateName, on, state};
};

const warningsFor = ({name, on, state}: GateSetting): string[] => {
  const {reason} = rows[name]!;
  const warnings: string[] = [];
  if (state.stage === 'stable') warnings.push(`Setting GA feature gate ${name}=${on}. It will be removed in a future release.`);
  if (state.stage === 'deprecated') warnings.push(`Setting deprecated feature gate ${name}=${on}. It will be removed in a future release.`);
  if (reason !== undefined) warnings.push(`feature gate ${name} has no effect in plat: ${reason}`);
  return warnings;
};

const checkDependencies = (enabled: (name: GateName) => boolean): void => {
  for (const [name, dependencies] of Object.entries(gateDependencies) as [GateName, readonly GateName[]][]) {
    const off = enabled(name) ? dependencies.filter(dependency => !enabled(dependency)) : [];
    if (off.length > 0)
      throw new OptionError(
        `invalid value for --feature-gates: ${name} is enabled, but depends on features that are disabled: ${off.join(', ')}`,
      );
  }
};

/**
 * Parses the values of `--feature-gates` for the emulated version. A gate's own setting takes precedence over
 * `AllAlpha` and `AllBeta`; of several settings of one gate the last applies. Throws for a gate that is unknown, newer
 * than the emulated version, locked to the other value, or enabled without the gates it depends on. Returns warnings
 * for gates that are stable, deprecated or without effect.
 */
export const readGates = (
  pairs: ReadonlyMap<string, string>,
  versions: Versions,
): {readonly gates: FeatureGates; readonly warnings: readonly string[]} => {
  const settings = new Map<GateName, GateSetting>();
  for (const [key, text] of pairs) {
    const setting = parseSetting(key, text, versions);
    settings.set(setting.name, setting);
  }

  const {emulated} = versions;
  const known = new Map<GateName, boolean>();
  const enabled = (name: GateName): boolean => {
    let is = known.get(name);
    if (is === undefined) known.set(name, (is = isEnabled(name)));
    return is;
  };
  const isEnabled = (name: GateName): boolean => {
    const own = settings.get(name);
    if (own) return own.on;
    const state = rows[name]!.at[emulated];
    if (!state) return false;
    const byStage = isStageGate(name) ? undefined : stageSetting(state.stage);
    return byStage?.on ?? state.default;
  };
  const stageSetting = (stage: GateStage): GateSetting | undefined =>
    stage === 'alpha' ? settings.get('AllAlpha') : stage === 'beta' ? settings.get('AllBeta') : undefined;

  checkDependencies(enabled);
  const gates: FeatureGates = {
    enabled,
    list: () =>
      (Object.keys(rows) as GateName[])
        .filter(name => rows[name]!.at[emulated])
        .sort()
        .map(name => ({name, stage: rows[name]!.at[emulated]!.stage, enabled: enabled(name)})),
  };
  return {gates, warnings: [...settings.values()].flatMap(warningsFor)};
};
