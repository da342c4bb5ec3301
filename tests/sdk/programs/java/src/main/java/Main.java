import com.aliyun.fc20230330.Client;
import com.aliyun.fc20230330.models.*;
import com.aliyun.tea.TeaException;
import com.aliyun.teaopenapi.models.Config;
import com.aliyun.teautil.models.RuntimeOptions;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Drives Function Compute 3.0 through the official Java SDK and prints what it saw as JSON.
 *
 * <p>Arguments: endpoint, key id, key secret, function. Standard input is the zip of a function {@code index.handler}
 * that echoes its event and fails for the event "fail".
 */
public class Main {
    private static Client client;
    private static String function;

    public static void main(String[] arguments) throws Exception {
        Config config = new Config()
                .setEndpoint(arguments[0].replace("http://", ""))
                .setProtocol("http")
                .setRegionId("cn-hangzhou")
                .setAccessKeyId(arguments[1])
                .setAccessKeySecret(arguments[2]);
        client = new Client(config);
        function = arguments[3];
        Map<String, String> seen = new LinkedHashMap<>();

        String code = Base64.getEncoder().encodeToString(System.in.readAllBytes());
        CreateFunctionInput input = new CreateFunctionInput()
                .setFunctionName(function)
                .setRuntime("python3.10")
                .setHandler("index.handler")
                .setTimeout(20)
                .setCode(new InputCodeLocation().setZipFile(code));
        Function made = client.createFunction(new CreateFunctionRequest().setBody(input)).getBody();
        seen.put("function", made.getFunctionName());
        seen.put("state", made.getState());

        seen.put("echo", text(invoke("gr\u00fc\u00dfe", null)));
        seen.put("error", header(invoke("fail", null), "x-fc-error-type"));

        PublishVersionInput nothing = new PublishVersionInput();
        Version version = client.publishFunctionVersion(
                function, new PublishFunctionVersionRequest().setBody(nothing)).getBody();
        CreateAliasInput alias = new CreateAliasInput().setAliasName("prod").setVersionId(version.getVersionId());
        client.createAlias(function, new CreateAliasRequest().setBody(alias));
        seen.put("alias", text(invoke("alias", "prod")));

        try {
            client.getFunction("nothing-of-that-name", new GetFunctionRequest());
        } catch (TeaException error) {
            seen.put("missing", error.getStatusCode() + " " + error.getCode());
        }

        client.deleteAlias(function, "prod");
        client.deleteFunctionVersion(function, version.getVersionId());
        client.deleteFunction(function);
        System.out.println("\n" + json(seen));
    }

    private static InvokeFunctionResponse invoke(String event, String qualifier) throws Exception {
        InvokeFunctionRequest request = new InvokeFunctionRequest()
                .setQualifier(qualifier)
                .setBody(new ByteArrayInputStream(event.getBytes(StandardCharsets.UTF_8)));
        return client.invokeFunctionWithOptions(function, request, new InvokeFunctionHeaders(), new RuntimeOptions());
    }

    private static String text(InvokeFunctionResponse response) throws Exception {
        return new String(response.getBody().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static String header(InvokeFunctionResponse response, String name) {
        return String.valueOf(response.getHeaders().get(name));
    }

    private static String json(Map<String, String> values) {
        return values.entrySet().stream()
                .map(entry -> "\"" + entry.getKey() + "\": \"" + escaped(entry.getValue()) + "\"")
                .collect(Collectors.joining(", ", "{", "}"));
    }

    private static String escaped(String text) {
        return text.chars()
                .mapToObj(unit -> unit < 32 || unit > 126 || unit == '"' || unit == '\\'
                        ? String.format("\\u%04x", unit) : String.valueOf((char) unit))
                .collect(Collectors.joining());
    }
}
