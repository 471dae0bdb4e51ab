// Writes docs/plane.schema.json, the JSON Schema of the configuration file of `plat up`: `make docs`.
import {writeFileSync} from 'node:fs';
import {planeConfigurationSchema} from '../dist/src/options/programs/plane-configuration.js';

writeFileSync('docs/plane.schema.json', `${JSON.stringify(planeConfigurationSchema(), undefined, 2)}\n`);
