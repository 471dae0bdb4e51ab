// Writes docs/controllers.md from the list of controllers.
import {mkdirSync, writeFileSync} from 'node:fs';
import {controllersReference} from '#controllers/reference.js';

mkdirSync('docs', {recursive: true});
writeFileSync('docs/controllers.md', controllersReference());
