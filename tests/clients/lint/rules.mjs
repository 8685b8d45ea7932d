// The recommended presets, and a few more rules.

import graphql from '@graphql-eslint/eslint-plugin';

const schemaIn = (path) => ({
  files: ['**/*.graphql'],
  languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: path } } },
  plugins: { '@graphql-eslint': graphql },
  rules: {
    ...graphql.configs['flat/schema-recommended'].rules,
    ...graphql.configs['flat/schema-relay'].rules,
    '@graphql-eslint/require-description': [
      'error',
      {
        types: true,
        rootField: true,
        DirectiveDefinition: true,
        EnumValueDefinition: true,
        FieldDefinition: true,
        InputValueDefinition: true,
      },
    ],
    // Allows short plain lists, and `nodes` next to `edges`.
    '@graphql-eslint/relay-edge-types': ['error', { listTypeCanWrapOnlyEdgeType: false }],
    '@graphql-eslint/no-scalar-result-type-on-mutation': 'error',
    '@graphql-eslint/require-nullable-fields-with-oneof': 'error',
  },
});

export default schemaIn;
