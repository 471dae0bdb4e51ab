import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';

/** A container to kill. */
export interface Kill {
  readonly name: string;
  readonly exitCode: number;
  readonly reason?: string;
}

/** The annotation that kills containers of a pod. */
export const killKey = (naming: Naming): string => naming.subKey('simulation', 'kill');

/** Parses the kill annotation: `name`, `name=code` or `name=code:reason`, comma separated. */
export const killsOf = (naming: Naming, {metadata}: Frozen<Pod>): Kill[] =>
  (metadata?.annotations?.[killKey(naming)] ?? '').split(',').flatMap(text => {
    const [, name, code, reason] = /^\s*([^=\s]+)(?:=(\d{1,3})(?::(\w+))?)?\s*$/.exec(text) ?? [];
    return name ? [{name, exitCode: code === undefined ? 137 : Number(code), ...(reason ? {reason} : {})}] : [];
  });
