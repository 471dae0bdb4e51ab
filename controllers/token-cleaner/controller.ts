import {bootstrapTokens} from '#controllers/shared/bootstrap-tokens.js';
import {defineController} from '#src/runtime/controller.js';
import {cleaner} from './reconcile.js';

/** Deletes bootstrap tokens at the time of their expiration. */
export default defineController({
  doc: 'Deletes expired bootstrap tokens.',
  name: 'token-cleaner-controller',
  serviceAccount: 'token-cleaner',
  queue: {name: 'token_cleaner'},
  primary: bootstrapTokens,
  create: cleaner,
});
