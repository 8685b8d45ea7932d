// The rules that partners' linters begin with, and a few more.

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
    // Short lists are lists, and `nodes` stands beside `edges`.
    '@graphql-eslint/relay-edge-types': ['error', { listTypeCanWrapOnlyEdgeType: false }],
    '@graphql-eslint/no-scalar-result-type-on-mutation': 'error',
    '@graphql-eslint/require-nullable-fields-with-oneof': 'error',
  },
});

export default schemaIn;
