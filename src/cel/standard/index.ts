import type {Library} from '#src/cel/check/declarations.js';
import {calendar} from './calendar.js';
import {conversions} from './conversions.js';
import {operators} from './operators.js';
import {text} from './text.js';

/** The standard library. */
export const standard: Library = {name: 'standard', functions: [...operators, ...conversions, ...text, ...calendar]};
