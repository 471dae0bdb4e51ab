import type {Verbosity} from '#src/observe/verbosity.js';
import {type AdministrativeRoute, type AdministrativeRequest, jsonText, text} from './route.js';

/** `/configz`: the effective configurations, by their registered names. */
export const configzRoute = (configurations: () => Readonly<Record<string, unknown>>): AdministrativeRoute => ({
  path: '/configz',
  answer: () => jsonText(configurations()),
});

/** `/debug/flags/v`: a PUT of a number changes the log verbosity. */
export const verbosityRoute = (verbosity: Verbosity): AdministrativeRoute => ({
  path: '/debug/flags/v',
  async answer({method, request}: AdministrativeRequest) {
    if (method !== 'PUT') return text('unsupported http method', 406);
    const {body} = request;
    const value = body?.kind === 'bytes' ? (await body.read(64)).toString().trim() : '';
    if (!/^-?\d{1,9}$/.test(value)) return text(`failed set the log verbosity ${value}: not a number`, 400);
    verbosity.level = Number(value);
    return text(`successfully set the log verbosity to ${value}`);
  },
});
