import type {Invocation} from '#src/program/program.js';
import type {generateFlags} from '#src/options/programs/generate.js';

export type GenerateInvocation = Invocation<(typeof generateFlags)['rows']>;
