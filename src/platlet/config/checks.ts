// Shared by the checks of a configuration.

import {jsonText} from '#src/base/json/json.js';
import type {Naming} from '#src/api/naming.js';
import type {Settings} from './fields.js';

export interface ValidationContext {
  readonly naming: Naming;
  /** Whether the host has cgroups of version 1. */
  readonly isCgroupV1: boolean;
  gate(name: string): boolean;
}

/** Returns the error messages of one check. */
export type Check = (settings: Settings, context: ValidationContext) => readonly string[];

/** Returns the messages if the condition holds. */
export const messagesIf = (isWrong: boolean, ...texts: readonly string[]): readonly string[] => (isWrong ? texts : []);
/** Returns a value in quotes. */
export const quoted = (text: unknown): string => jsonText(text);
